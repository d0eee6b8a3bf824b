# SPDX-License-Identifier: Apache-2.0
# Checkpoints by upload() and download(), whole and in part, with metadata; an old one deleted.
import pathlib
import tempfile

import determined as det


def selector(path: str) -> bool:
    return path in ("weights/", "weights/layer1.bin") or path.endswith(".json")


with det.core.init() as core_context:
    with tempfile.TemporaryDirectory() as tmp:
        tmp_dir = pathlib.Path(tmp)
        (tmp_dir / "weights").mkdir()
        (tmp_dir / "weights" / "layer1.bin").write_bytes(b"\x01" * 1000)
        (tmp_dir / "weights" / "layer2.bin").write_bytes(b"\x02" * 1000)
        (tmp_dir / "config.json").write_text("{}")
        whole = core_context.checkpoint.upload(tmp, {"steps_completed": 1, "kind": "whole"})
        part = core_context.checkpoint.upload(
            ckpt_dir=tmp_dir, metadata={"steps_completed": 2}, selector=selector
        )
    core_context.train.report_validation_metrics(2, {"loss": 0.5})
    assert isinstance(whole, str) and whole != part

    metadata = core_context.checkpoint.get_metadata(whole)
    assert metadata["steps_completed"] == 1 and metadata["kind"] == "whole", metadata

    core_context.checkpoint.download(whole, "whole")
    core_context.checkpoint.download(part, pathlib.Path("part"), det.core.DownloadMode.NoSharedDownload)
    core_context.checkpoint.download(whole, "some", selector=lambda path: path.endswith("config.json"))

    def names(folder):
        root = pathlib.Path(folder)
        return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p.name != "metadata.json")

    print("whole", names("whole"))
    print("part", names("part"))
    print("some", names("some"))
    assert pathlib.Path("whole/weights/layer2.bin").read_bytes() == b"\x02" * 1000
    with core_context.checkpoint.restore_path(part, selector=lambda path: True) as path:
        assert (path / "weights" / "layer1.bin").exists()
        assert not (path / "weights" / "layer2.bin").exists()
    core_context.checkpoint.delete(whole)
    print("deleted the first")
