# SPDX-License-Identifier: Apache-2.0
import json
import threading
from typing import Any, Dict, Optional

from determined import _det


class Master:
    """Calls to the master, opened when they are first needed; any thread may call."""

    def __init__(self, url: Optional[str]) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._clients: Dict[bool, _det.Client] = {}

    def call(
        self, method: str, path: str, body: Optional[Dict[str, Any]] = None, as_task: bool = True
    ) -> Dict[str, Any]:
        """As the task, or as the user whom it belongs to."""
        text = None if body is None else json.dumps(body)
        with self._lock:
            if as_task not in self._clients:
                self._clients[as_task] = _det.client(self._url, as_task=as_task)
            reply = self._clients[as_task].call(method, path, text)
        parsed: Dict[str, Any] = json.loads(reply or "{}")
        return parsed
