# SPDX-License-Identifier: Apache-2.0
from model_def import MNISTTrial  # noqa: F401
