# SPDX-License-Identifier: Apache-2.0
"""Several processes in one trial: their messages, and what they are told when one dies."""
import json
import socket
import unittest

import ranks
from offline_case import Offline


def free_port(behind=0):
    """A free port, whose neighbour at this distance is free, too."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                if behind:
                    other.bind(("127.0.0.1", port + behind))
                return port
            except (OSError, OverflowError):
                pass  # it is in use


class Ranks(Offline):
    SIZE = 4

    def run_all(self, script, **variables):
        return ranks.run(script, self.SIZE, self.folder, **variables)

    def outputs(self, script, **variables):
        """The output of each rank; none may fail."""
        done = self.run_all(script, **variables)
        for rank, (code, _, errors) in enumerate(done):
            self.assertEqual(code, 0, f"rank {rank}: {errors}")
        return [out.strip() for _, out, _ in done]


class Operations(Ranks):
    ALL = """
        dist = join(**OPTIONS)
        me = {"rank": dist.rank, "some": (dist.rank, b"x" * 70000 * dist.rank)}
        everybody = dist.allgather(me)
        assert [each["rank"] for each in everybody] == [0, 1, 2, 3], everybody
        assert [len(each["some"][1]) for each in everybody] == [0, 70000, 140000, 210000]
        gathered = dist.gather(dist.rank * 2)
        assert gathered == ([0, 2, 4, 6] if dist.rank == 0 else None), gathered
        assert dist.broadcast([dist.rank, "of the chief"]) == [0, "of the chief"]
        first = dist.rank - dist.local_rank
        local = list(range(first, first + dist.local_size))
        assert dist.allgather_local(dist.rank) == local
        assert dist.gather_local(dist.rank) == (local if dist.local_rank == 0 else None)
        assert dist.broadcast_local(dist.rank) == first
        assert dist.get_num_agents() == dist.cross_size
        dist.allgather(None)
        print(dist.get_rank(), dist.get_size(), dist.get_local_rank())
        dist.close()
    """

    def check(self, options, **variables):
        lines = self.outputs(self.ALL.replace("**OPTIONS", options), **variables)
        nodes = int(variables.get("NODES", 1))
        self.assertEqual(lines, [f"{rank} 4 {rank % (4 // nodes)}" for rank in range(4)])

    def test_over_unix_sockets(self):
        self.check("")

    def test_over_tcp(self):
        self.check(f"force_tcp=True, pub_port={free_port()}, pull_port=1")

    def test_two_machines_of_two(self):
        port = free_port(behind=1)
        self.check("chief_ip='127.0.0.1', port_offset=1", NODES=2, INTER_TRAIN_PROCESS_COMM_PORT_1=port)

    def test_launchers_variables_make_the_same(self):
        script = """
            rank = os.environ["RANK"]
            os.environ.update(LOCAL_RANK=rank, LOCAL_SIZE="4", LOCAL_WORLD_SIZE="4",
                              CROSS_RANK="0", CROSS_SIZE="1", GROUP_RANK="0", GROUP_WORLD_SIZE="1")
            for make in (core.DistributedContext.from_deepspeed,
                         core.DistributedContext.from_torch_distributed):
                with make() as dist:
                    assert dist.allgather(dist.rank) == [0, 1, 2, 3]
                    dist.allgather(None)
            print(dist.rank, dist.local_size)
        """
        self.assertEqual(self.outputs(script), [f"{rank} 4" for rank in range(4)])

    def test_horovod_and_tf_config_make_the_same(self):
        port = free_port()
        script = """
            from unittest import mock
            import json
            names = dict(rank=int(os.environ["RANK"]), size=4, cross_rank=0, cross_size=1)
            names.update(local_rank=names["rank"], local_size=4)
            hvd = mock.Mock(**{f"{name}.return_value": value for name, value in names.items()})
            with core.DistributedContext.from_horovod(hvd) as dist:
                assert dist.allgather(dist.rank) == [0, 1, 2, 3]
                dist.allgather(None)
            cluster = {"chief": ["127.0.0.1:1"], "worker": [f"127.0.0.1:{i}" for i in (2, 3, 4)]}
            index = dist.rank
            task = {"type": "worker", "index": index - 1} if index else {"type": "chief", "index": 0}
            os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
            tf = mock.MagicMock()
            with mock.patch.dict(sys.modules, {"tensorflow": tf}):
                dist, strategy = core.DistributedContext.from_tf_config()
            assert strategy is tf.distribute.MultiWorkerMirroredStrategy()
            assert dist.allgather(dist.cross_rank) == [0, 1, 2, 3]
            dist.allgather(None)
        """
        self.outputs(script, INTER_TRAIN_PROCESS_COMM_PORT_1=port)

    def test_workers_of_tensorflow_leave_together(self):
        script = """
            import json, time
            rank = int(os.environ["RANK"])
            cluster = {"worker": [f"127.0.0.1:{i}" for i in range(4)]}
            os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})
            note = os.path.join(os.environ["HOME"], "last" + os.environ["DIES"])
            dist = core.DistributedContext._from_tf_config()
            dist.allgather(rank)
            if rank == 2:
                time.sleep(0.05)
                open(note, "w").close()
                if os.environ["DIES"]:
                    os._exit(3)
            dist.close()
            assert os.path.exists(note)
            dist.close()
        """
        self.outputs(script, INTER_TRAIN_PROCESS_COMM_PORT_1=free_port(), DIES="")
        done = self.run_all(script, INTER_TRAIN_PROCESS_COMM_PORT_1=free_port(), DIES="yes")
        self.assertEqual([code for code, _, _ in done], [0, 0, 3, 0], done)


class Failures(Ranks):
    TELL = """
        dist = join()
        try:
            {body}
        except Exception as error:
            print(type(error).__name__, error)
            try:
                dist.allgather(None)
            except Exception as again:
                assert str(again) == str(error), again
        else:
            print("nothing went wrong")
    """

    def told(self, body, silent, **variables):
        lines = self.run_all(self.TELL.replace("{body}", body), **variables)
        return [out.strip() for rank, (_, out, _) in enumerate(lines) if rank != silent]

    def test_a_rank_that_is_killed_is_named_to_all_others(self):
        for victim in (0, 2):
            body = f"dist.rank == {victim} and os.kill(os.getpid(), 9); dist.allgather(1)"
            for line in self.told(body, victim):
                self.assertRegex(line, f"^UnreachableError rank {victim} died in allgather number 1$")

    def test_a_rank_that_ends_is_named_to_all_others(self):
        body = "dist.rank == 3 and sys.exit(0); dist.broadcast(1)"
        for line in self.told(body, 3):
            self.assertEqual(line, "UnreachableError rank 3 left before broadcast number 1")

    def test_different_operations_are_told(self):
        body = "dist.gather(1) if dist.rank == 1 else dist.allgather(1)"
        for line in self.told(body, None):
            self.assertRegex(line, "^StateError rank 1 calls gather number 1 where rank 0 calls allgather")

    def test_ctrl_c_ends_the_wait_and_others_are_told(self):
        for victim in (0, 1):
            done = self.run_all(
                f"""
                import time
                dist = join()
                dist.allgather(None)
                heard = os.environ["HOME"] + "/heard{victim}"
                try:
                    if dist.rank == {victim}:
                        press_ctrl_c_in("_allgather")
                    while dist.rank == 3 and not os.path.exists(heard):
                        time.sleep(0.01)
                    dist.allgather(1)
                except KeyboardInterrupt:
                    open(heard, "w").close()
                    print("stopped")
                except Exception as error:
                    print(error)
                """
            )
            lines = [out.strip() for _, out, _ in done]
            self.assertEqual(lines.pop(victim), "stopped", done)
            for line in lines:
                self.assertEqual(line, f"rank {victim} was interrupted in allgather number 2", done)

    def test_ctrl_c_ends_the_wait_for_those_who_never_come(self):
        processes = ranks.start(
            """
            press_ctrl_c_in("__init__")
            try:
                core.DistributedContext(rank=int(os.environ["RANK"]), size=3, local_size=3,
                    local_rank=int(os.environ["RANK"]), cross_rank=0, cross_size=1)
            except KeyboardInterrupt:
                print("stopped")
            except Exception as error:  # the other was faster
                print("stopped" if "was interrupted" in str(error) else error)
            """,
            2,
            self.folder,
        )
        self.assertEqual([out.strip() for _, out, _ in ranks.finish(processes)], ["stopped"] * 2)

    def test_other_machines_need_a_secret(self):
        script = "os.environ.pop('DET_DISTRIBUTED_SECRET'); join(force_tcp=True)"
        for code, _, errors in self.run_all(script):
            self.assertEqual(code, 1)
            self.assertIn("need a secret", errors)

    def test_what_cannot_be_pickled_fails_where_it_is(self):
        lines = self.told("dist.allgather(lambda: 1 if dist.rank == 2 else None)", None)
        self.assertTrue(all("ickle" in line for line in lines), lines)

    def test_a_closed_group_says_so(self):
        lines = self.told("dist.allgather(1); dist.close(); dist.allgather(1)", None)
        self.assertEqual(set(lines), {"StateError the group of processes is closed"})


class Contexts(Ranks):
    def test_core_init_serves_several_processes_without_a_platform(self):
        lines = self.outputs(
            """
            with core.init(distributed=join()) as context:
                dist = context.distributed
                if dist.rank == 0:
                    context.train.report_training_metrics(1, {"loss": 0.5})
                assert context.preempt.should_preempt() is False
                with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
                    (path / f"part{dist.rank}").write_text("x")
                with context.checkpoint.restore_path(uuid) as path:
                    print(sorted(each.name for each in path.iterdir()))
                dist.allgather(None)
            """
        )
        self.assertEqual(len(set(lines)), 1)
        for rank in range(4):
            self.assertIn(f"part{rank}", lines[0])


class Errors(Ranks):
    def told(self, body):
        done = self.run_all(
            """
            import logging
            logging.basicConfig(level=logging.INFO)
            try:
                with core.init(distributed=join()) as context:
                    dist = context.distributed
                    BODY
            except errors.DetError as error:
                print(error)
            """.replace("BODY", body)
        )
        return [out.strip() for _, out, _ in done], done

    def test_an_exception_of_one_is_told_to_all_others(self):
        lines, done = self.told("1 / 0 if dist.rank == 2 else context.preempt.should_preempt()")
        self.assertEqual(done[2][0], 1)
        self.assertIn("ZeroDivisionError", done[2][2])
        for rank in (0, 1, 3):
            self.assertEqual(lines[rank], "rank 2: ZeroDivisionError: division by zero")

    def test_invalid_hp_ends_with_0_and_others_are_told(self):
        lines, done = self.told(
            "raise det.InvalidHP('too wide') if dist.rank == 1 else dist.allgather(1)"
        )
        self.assertEqual(done[1][0], 0, done)
        for rank in (0, 2, 3):
            self.assertEqual(lines[rank], "rank 1: InvalidHP: too wide")
        with open(self.path("run", "run.json")) as file:
            self.assertEqual(json.load(file)["run_id"], 1)
        self.assertIn(b"INVALID_HP", self.reported())

    def test_only_rank_0_reports_the_curve(self):
        script = """
            with core.init(distributed=join()) as context:
                train, rank = context.train, context.distributed.rank
                calls = (
                    lambda: train.report_training_metrics(1, {"loss": 1.0}),
                    lambda: train.report_validation_metrics(1, {"loss": 1.0}),
                    lambda: train.report_progress(0.5),
                    lambda: next(context.searcher.operations()).report_progress(0.5),
                    lambda: next(context.searcher.operations(core.SearcherMode.ChiefOnly)),
                )
                for call in calls:
                    try:
                        call()
                        assert rank == 0
                    except RuntimeError as error:
                        assert rank != 0 and "only rank 0" in str(error), error
                train.report_metrics(f"mine{rank}", 1, {"x": 1.0})
                context.distributed.allgather(None)
        """
        self.outputs(script)
        for rank in range(4):
            self.assertIn(f"mine{rank}".encode(), self.reported())

    def test_modes_of_preemption(self):
        script = """
            for mode in core.PreemptMode:
                dist = join()
                with core.init(distributed=dist, preempt_mode=mode) as context:
                    try:
                        assert context.preempt.should_preempt() is False
                        assert dist.rank == 0 or mode is not core.PreemptMode.ChiefOnly
                    except errors.StateError as error:
                        assert "only rank 0 may ask" in str(error) and dist.rank, error
                    dist.allgather(None)
        """
        self.outputs(script)


if __name__ == "__main__":
    unittest.main()
