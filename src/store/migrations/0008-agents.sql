-- SPDX-License-Identifier: Apache-2.0
-- Which of several agents that claim one name it is.
ALTER TABLE agents ADD COLUMN instance TEXT;
