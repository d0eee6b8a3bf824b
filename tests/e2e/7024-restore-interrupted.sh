# SPDX-License-Identifier: Apache-2.0
# A restore that is killed at the worst moment, two at once, into a directory with a slash or behind
# a link; and a backup of checkpoints whose files a task has named badly or closed.
IN_MEMORY=1
ORDINARY_USER=1
. "$(dirname "$0")/lib.sh"
need python3 flock
platform --no-agent
B=$T/backups
C=$DATA/checkpoints
mkdir -p "$C/one"
echo weights >"$C/one/w"
ok 'a backup' det backup "$B"
det stop >/dev/null 2>&1

# ---- names of directories

ok 'a restore to a directory with a slash' det restore "$B" --data-dir "$T/drill/"
ok 'and again' det restore "$B" --data-dir "$T/drill/" --replace
same 'puts nothing into it' '' "$(ls -A "$T/drill" | grep '^\.')"
same 'and leaves no lock' '' "$(ls "$T/drill" | grep master.lock)"
mkdir "$T/large"
mv "$T/drill" "$T/large/det"
ln -s "$T/large/det" "$T/link"
ok 'a restore behind a link' det restore "$B" --data-dir "$T/link" --replace
ok 'the link stays' test -L "$T/link"
ok 'what it leads to is replaced' sh -c "ls -d '$T'/large/det.before-* && test -e '$T/large/det/det.db'"

# ---- another one at the same time

mkdir "$T/held"
fails 6 'a directory that another restore fills is left alone' flock "$T/held" "$DET" restore "$B" --data-dir "$T/held"
says 'or another restore'
same 'and is still empty' '' "$(ls "$T/held" | grep -v master.lock)"
ok 'later it can be filled' det restore "$B" --data-dir "$T/held"
mkdir "$T/full"
echo mine >"$T/full/file"
fails 5 'a directory with files is not touched' det restore "$B" --data-dir "$T/full"
same 'at all' file "$(ls -A "$T/full")"

# ---- killed between its two renames

mv "$DATA" "$DATA.before-20200101T000000Z"
mkdir "$DATA.restoring"
fails 5 'a master does not begin anew in the place of a directory that was to be restored' det serve --no-agent --port 0
says "run 'det restore' again"
ok 'the next restore puts it in place' det restore "$B"
same 'with the checkpoints of the directory that was put aside' weights "$(cat "$C/one/w")"
says "$DATA.before-20200101T000000Z/checkpoints moved to the new"
platform --no-agent
ok 'a master works there' det master info
det stop >/dev/null 2>&1

# ---- what a task makes of its checkpoints

python3 - "$C" <<'END'
import os, sys
os.chdir(sys.argv[1])
for name, text in ((b"one/\xff\xfe", "bytes"), (b"one/\xef\xbf\xbd\xef\xbf\xbd", "letters"), (b"one/a\nb", "lines")):
    with open(name, "w") as file:
        file.write(text)
for name in ("closed", "folder/file"):
    os.makedirs(os.path.dirname("two/" + name), exist_ok=True)
    open("two/" + name, "w").close()
os.chmod("two/closed", 0)
os.chmod("two/folder", 0)
os.makedirs("deep")
os.chdir("deep")
for i in range(25): # longer than a path may be
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
END
ok 'files that cannot be read do not cost the backup' det backup "$B" --checkpoints
says 'files or folders in'
says 'could not be read and are not in the backup; the first one: checkpoints/'
ok 'the rest is intact' det backup "$B" --verify
ok 'and is restored' det restore "$B" --data-dir "$T/odd"
same 'every name is as it was' 'bytes letters lines weights' \
    "$(python3 -c 'import os, sys
os.chdir(os.fsencode(sys.argv[1]))
print(*sorted(open(b"one/" + n).read().strip() for n in os.listdir(b"one")))
print(os.path.exists(b"one/\xff\xfe"))' "$T/odd/checkpoints" | sed '/True/d' | xargs)"
chmod -R u+rwx "$C/two"
python3 - "$C/deep" <<'END'
import os, sys
os.chdir(sys.argv[1])
depth = 0
while os.path.exists("d" * 200):
    os.chdir("d" * 200)
    depth += 1
for i in range(depth):
    os.chdir("..")
    os.rmdir("d" * 200)
END
