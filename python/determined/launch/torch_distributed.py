# SPDX-License-Identifier: Apache-2.0
"""Comes with a later version, and says so."""
from determined.launch import refuse

if __name__ == "__main__":
    refuse("torch_distributed")
