# SPDX-License-Identifier: Apache-2.0
"""One process with as many replicas as it has slots: `det launch tensorflow_distributed`."""
import sys

from determined.launch import become

if __name__ == "__main__":
    become("tensorflow_distributed", sys.argv[1:])
