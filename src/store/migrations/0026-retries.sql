-- A run whose predecessors ended too soon waits before it asks for slots.
ALTER TABLE allocations ADD COLUMN quick_ends BIGINT NOT NULL DEFAULT 0;
ALTER TABLE allocations ADD COLUMN retry_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE allocations ADD COLUMN wait_reason TEXT;
ALTER TABLE allocations ADD COLUMN avoided_agent BIGINT NOT NULL DEFAULT 0;
ALTER TABLE allocations ADD COLUMN has_progressed BOOLEAN NOT NULL DEFAULT FALSE;
