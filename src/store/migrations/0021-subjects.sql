-- Which account of an identity provider a user is.  The provider's subject never changes, unlike
-- the name that it shows; without it, who takes over a name there would take over the user here.
CREATE TABLE user_subjects (
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) WITHOUT ROWID;
-- Memberships that the provider lists are replaced at each sign-in; those given here stay.
ALTER TABLE group_members ADD COLUMN is_remote BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX user_subjects_by_user ON user_subjects (user_id);
