# SPDX-License-Identifier: Apache-2.0
"""What entrypoints become: programs of the platform, run with the interpreter."""
