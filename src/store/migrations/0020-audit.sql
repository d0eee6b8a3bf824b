-- SPDX-License-Identifier: Apache-2.0
-- Who did what to which object from where; only ever added to, and removed by age.
-- username: as it was then, or as a failed login gave it.  action: the name of the call.
-- status: the HTTP status of its answer.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    time_us BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    username TEXT NOT NULL,
    action TEXT NOT NULL,
    object_kind TEXT NOT NULL,
    object_id TEXT NOT NULL,
    address TEXT NOT NULL,
    status BIGINT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_user ON audit (username, id);
CREATE INDEX audit_by_object ON audit (object_kind, object_id, id);
CREATE INDEX audit_by_time ON audit (time_us);
