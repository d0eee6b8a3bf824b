# SPDX-License-Identifier: Apache-2.0
"""Programs that the platform runs for entrypoints."""
