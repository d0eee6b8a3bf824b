# SPDX-License-Identifier: Apache-2.0
# Files and folders that cannot be sent.
. "$(dirname "$0")/lib.sh"
printf '#!/bin/sh\necho hi\n' | folder one
fails 4 'a configuration that is not there is named' det e create nowhere.yaml one
says "'nowhere.yaml'"
fails 4 'a folder that is not there is named' det e create one/const.yaml nowhere
says "'nowhere'"
fails 2 'a folder instead of the file is refused with a hint' det e create one
says 'the file comes first'
fails 2 'a file instead of the folder is refused' det e create one/const.yaml one/run.sh
says 'run.sh'
ok 'and nothing has started a master' test ! -e "$DATA/master.json"
mkdir large
head -c 60000000 /dev/zero >large/a
head -c 60000000 /dev/zero >large/b
fails 2 'a folder over the limit is refused' det e create one/const.yaml large
says '96'
says 'b'
says_not 'Preparing'
printf 'a\n' >large/.detignore
platform
ok 'it is sent without the part that is ignored' det e create one/const.yaml large --paused
says '57.2MB and'
rm -r large
mkdir locked
echo secret >locked/file
chmod 000 locked/file
chmod 755 one one/* locked
fails 3 'a file that cannot be read is named' as_nobody -m "$(url)" e create one/const.yaml locked
says 'locked/file'
mkdir empty
ok 'an empty folder is sent' det e create one/const.yaml empty --paused
says '0 files'
mkdir -p loop/in
ln -s .. loop/in/up
ok 'a loop of links is no trap' timeout 120 det e create one/const.yaml loop --paused
mkdir -p 'odd/ü n\t "q"'
echo x >'odd/ü n\t "q"/-rf $(id)'
printf '#!/bin/sh\nfind . -name "*rf*"\n' >odd/run.sh
chmod +x odd/run.sh
ok 'odd names arrive' det e create one/const.yaml odd -f
says './ü n\t "q"/-rf $(id)'
mkfifo odd/fifo
ok 'a pipe in the folder does not hang it' timeout 120 det e create one/const.yaml odd --paused
says 'fifo'

printf '#!/bin/sh\necho never\n' | folder noentry
sed -i '/entrypoint/d' noentry/const.yaml
fails 2 'neither an entrypoint nor an __init__.py is refused' det e create noentry/const.yaml noentry
says 'has no __init__.py'
