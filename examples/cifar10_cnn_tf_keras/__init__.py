# SPDX-License-Identifier: Apache-2.0
from model_def import CIFARTrial  # noqa: F401
