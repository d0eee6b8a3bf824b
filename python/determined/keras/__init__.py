# SPDX-License-Identifier: Apache-2.0
"""The Keras front ends."""
