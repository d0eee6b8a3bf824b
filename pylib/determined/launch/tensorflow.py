# SPDX-License-Identifier: Apache-2.0
"""One process per node, with TF_CONFIG if there are several: `det launch tensorflow`."""
import sys

from determined.launch import become

if __name__ == "__main__":
    become("tensorflow", sys.argv[1:])
