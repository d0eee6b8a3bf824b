# SPDX-License-Identifier: Apache-2.0
# Writes files of TensorBoard's itself and has them uploaded.
import pathlib

import determined as det

with det.core.init(tensorboard_mode=det.core.TensorboardMode.MANUAL) as core_context:
    path = core_context.train.get_tensorboard_path()
    assert isinstance(path, pathlib.Path)
    (path / "events.out.tfevents.1.mine").write_bytes(b"")
    core_context.train.upload_tensorboard_files(
        lambda p: p.name.startswith("events"), lambda p, rank: p.with_name(f"{p.name}#{rank}")
    )
    core_context.train.report_validation_metrics(1, {"loss": 1.0})
    print("uploaded")
