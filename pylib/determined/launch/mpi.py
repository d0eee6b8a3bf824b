# SPDX-License-Identifier: Apache-2.0
"""One process per slot, through mpirun: `det launch mpi`."""
import sys

from determined.launch import become

if __name__ == "__main__":
    become("mpi", sys.argv[1:])
