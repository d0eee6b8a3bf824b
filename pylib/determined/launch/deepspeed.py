# SPDX-License-Identifier: Apache-2.0
"""Not implemented; prints an error that says so."""
from determined.launch import refuse

if __name__ == "__main__":
    refuse("deepspeed")
