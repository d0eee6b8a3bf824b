# SPDX-License-Identifier: Apache-2.0
# Teams: users, groups, roles and access tokens from the command line, in both modes.
. "$(dirname "$0")/lib.sh"
platform
admin() { det -u admin "$@"; }

# ---- users
ok 'users are added' admin user create anna --password 'first one'
ok 'also a second' admin user create bert --password 'second one'
ok 'one is renamed' admin user rename bert berta
says 'Renamed user bert to berta'
ok 'one gets a display name' admin user edit anna --display-name 'Anna A.'
ok 'which is listed' det user list
says 'Anna A.'
fails 2 'an edit says what to change' admin user edit anna
says 'say what to change'
fails 2 'a display name is not the name of another' admin user edit anna --display-name Berta
fails 3 'users do not edit others' det user edit anna --display-name x
says 'only an administrator may do this'
fails 4 'unknown users are not edited' admin user edit nobody --active false
fails 5 'the last administrator stays active' admin user deactivate admin
says 'would leave no active administrator'
fails 5 'and an administrator' admin user edit admin --admin false
fails 5 'and can sign in' admin user edit admin --remote true
says 'no active administrator who can sign in'
ok 'a remote user has no password' admin user create rita --remote
ok 'and is listed so' det user list --csv
says ',rita,,no,yes,yes,,'
fails 2 'and gets none' admin user create rita --remote --password 'a third one'

# ---- groups
ok 'a group is added' admin user-group create readers --add-user anna
says 'Created group readers with id'
fails 5 'once' admin user-group create readers
fails 3 'by administrators' det user-group create mine
ok 'members are added' admin user-group add-user readers berta determined
ok 'and removed' admin user-group remove-user readers determined
ok 'everybody sees them' det user-group describe readers
says 'berta'
says_not 'determined'
ok 'groups are listed' det user-group list --csv
says 'id,name,members'
says ',readers,2'
ok 'also those of one user' det user-group list --groups-user-belongs-to determined
says_not 'readers'
ok 'a group is renamed' admin user-group change-name readers viewers
fails 2 'but not to nothing' admin user-group change-name viewers ''
says 'a group name must have'
fails 5 'a member is not added again, and is named' admin user-group add-user viewers berta
says "user 'berta' is a member"
fails 4 'the old name is gone' det user-group describe readers
says "group 'readers' not found"

# ---- roles, mode basic
ok 'roles are listed' det rbac list-roles
says 'WorkspaceAdmin'
ok 'only those of workspaces' det rbac list-roles --exclude-global-permissions
says_not 'ClusterAdmin'
ok 'a role is described' det rbac describe-role viewer
says 'VIEW_EXPERIMENT_METADATA'
fails 4 'unknown roles are not' det rbac describe-role King
says 'there is no role'
ok 'a role is assigned to a group' admin rbac assign-role Viewer --group-name-to-assign viewers --workspace-name 1
says 'Assigned the role Viewer to group viewers in workspace 1'
says 'mode basic, where roles decide nothing'
fails 5 'once' admin rbac assign-role Viewer --group-name-to-assign viewers --workspace-name 1
fails 2 'to somebody' admin rbac assign-role Viewer
fails 2 'to one of them' admin rbac assign-role Viewer --group-name-to-assign viewers --username-to-assign anna
fails 2 'a role of the cluster does not fit a workspace' admin rbac assign-role ClusterAdmin --username-to-assign anna --workspace-name 1
says 'a global-only permission cannot be assigned to a local scope'
fails 3 'users assign nothing' det rbac assign-role ClusterAdmin --username-to-assign determined
ok 'the roles of a user, also through groups' det rbac list-users-roles anna
says 'group viewers'
ok 'the roles of a group' det rbac list-groups-roles viewers
says 'Viewer'
ok 'who may what is shown with the reason' admin rbac who-may 1
says 'administrator'
says 'any user'
fails 3 'but not to everybody' det rbac who-may 1
ok 'also in a few words' admin workspace access Uncategorized
says_line 'USER        VIEW  SUBMIT  TASKS  CONTROL  DELETE  PROJECTS  WORKSPACE  ROLES  WHY'
says_line 'admin       yes   yes     yes    yes      yes     yes       yes        yes    administrator, owner of the workspace'
says_line 'determined  yes   yes     yes    own      own     -         -          -      any user'
ok 'and for programs' sh -c 'det -u admin workspace access 1 --json | grep -q "\"mode\": *\"basic\""'
fails 3 'not to everybody either' det workspace access Uncategorized
fails 4 'nor of a workspace that is not there' admin workspace access Nowhere
ok 'the owner of a workspace' det workspace create Owned
ok 'sees who may what in it' det workspace access Owned
says_line 'determined  yes   yes     yes    own      own     yes       yes        -      owner of the workspace'

# ---- tokens
ok 'a token is made' sh -c 'det -u admin token create anna --expiration-days 2 --description robot >token 2>note'
ok 'it is the only output' sh -c 'grep -q "^s[0-9]*\." token && [ "$(wc -l <token)" = 1 ]'
ok 'it logs in from standard input' sh -c 'det token login <token'
says 'Logged in as anna'
ok 'as its user' det user whoami
says 'anna'
ok 'users see their own' det token list
says 'robot'
fails 3 'and make none' det token create
fails 3 'nor revoke them' det token revoke 1
ok 'administrators see all' admin token list
says 'anna'
TOKEN_ID=$(admin token list --json | sed -n 's/.*"id": *\([0-9]*\).*/\1/p' | head -1)
ok 'a token is described' admin token describe "$TOKEN_ID"
says 'robot'
ok 'and edited' admin token edit "$TOKEN_ID" --description nightly
ok 'a token is revoked' admin token revoke "$TOKEN_ID"
fails 3 'then it opens nothing' sh -c 'det token login <token'
says 'revoked'
fails 2 'a revoked token is not edited' admin token edit "$TOKEN_ID" --description x
ok 'it is listed among the inactive' admin token list --show-inactive
says 'nightly'
ok 'and not among the others' admin token list
says_not 'nightly'
fails 2 'a token lives as long as allowed' admin token create --expiration-days 31
says 'max token lifespan'
fails 2 'and at least a day' admin token create --expiration-days 0
says "--expiration-days is '0'"
fails 3 'a made-up token opens nothing' sh -c 'echo s1.00.00 | det token login'
says 'has expired, was revoked, is not complete, or belongs to another master'
fails 3 'also from the environment' env DET_USER_TOKEN=s1.00.00 "$DET" user list
says 'the token in DET_USER_TOKEN'
ok 'a new one' sh -c 'det -u admin token create anna >token 2>note'
ok 'deactivation' admin user deactivate anna
fails 3 'revokes it' sh -c 'det token login <token'
ok 'for good' sh -c 'det -u admin user activate anna'
fails 3 'after reactivation too' sh -c 'det token login <token'

# ---- mode rbac
det stop >/dev/null 2>&1
printf 'security: {authz: {type: rbac}}\n' >rbac.yaml
platform --config rbac.yaml
ok 'she logs in' det user login anna -p 'first one'
ok 'her permissions are those of her group' det rbac my-permissions
says 'VIEW_WORKSPACE'
says_not 'CREATE_EXPERIMENT'
fails 3 'she may not add users' det user create eve --password 'longer one'
ok 'she becomes administrator of a workspace' admin rbac assign-role WorkspaceAdmin --username-to-assign anna --workspace-name 1
says_not 'mode basic'
ok 'and assigns roles there' det rbac assign-role Editor --username-to-assign berta --workspace-name 1
fails 3 'but none on the cluster' det rbac assign-role Viewer --username-to-assign anna
ok 'she sees who may what' det rbac who-may 1
says 'Viewer through group viewers'
says 'WorkspaceAdmin'
ok 'and who has a role there' det workspace list-members Uncategorized --csv
says_line 'user,anna,WorkspaceAdmin'
says_line 'group,viewers,Viewer'
says_line 'user,berta,Editor'
ok 'in a few words' det workspace access Uncategorized
says_line 'anna   yes   yes     yes    yes      yes     yes       yes        yes    WorkspaceAdmin, Viewer through group viewers'
says_line 'berta  yes   yes     yes    yes      yes     yes       -          -      Viewer through group viewers, Editor'
says_not 'determined'
ok 'a role on the cluster counts too' admin rbac assign-role Viewer --username-to-assign determined
ok 'and is named' det workspace access Uncategorized
says 'Viewer on the cluster'
ok 'it is removed' admin rbac unassign-role Viewer --username-to-assign determined
fails 5 'the last cluster administrator keeps the role' admin rbac unassign-role ClusterAdmin --username-to-assign admin
says 'would leave no active administrator'
ok 'a group is deleted with its roles' admin user-group delete viewers --yes
ok 'then' det rbac list-users-roles anna
says_not 'viewers'
