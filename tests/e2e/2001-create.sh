# SPDX-License-Identifier: Apache-2.0
# det experiment create: its three lines, and the files that arrive.
. "$(dirname "$0")/lib.sh"
platform
mkdir -p mnist/data mnist/.git mnist/sub/deep
cat >mnist/model.sh <<'END'
#!/bin/sh
find . -type f | sort
test -x ./model.sh && echo 'model.sh is executable'
END
chmod +x mnist/model.sh
cat >mnist/const.yaml <<'END'
name: mnist
entrypoint: ./model.sh
searcher: {name: single, metric: loss}
max_restarts: 0
END
head -c 2000 /dev/zero >mnist/sub/deep/weights
echo large >mnist/data/large
echo secret >mnist/secret.key
echo keep >mnist/keep.key
echo ref >mnist/.git/HEAD
printf '# not these\n/data\n*.key\n!keep.key\n' >mnist/.detignore
cd mnist || exit 1
ok 'create sends the folder' det e create const.yaml .
cd ..
cp "$OUT" lines
SIZE=$(cat mnist/const.yaml mnist/model.sh mnist/sub/deep/weights mnist/keep.key mnist/.detignore | wc -c)
HUMAN=$(awk "BEGIN { printf \"%.1fKB\", $SIZE / 1024 }")
same 'and prints these three lines' "Preparing files (../mnist) to send to master... $HUMAN and 5 files
Created experiment 1
Activated experiment 1" "$(cat lines)"
ok 'it ends' det e wait 1
ok 'the task lists the files that arrived' det t logs 1
same 'which are as many as were sent' 5 "$(grep -c '|| \./' "$OUT")"
says './model.sh'
says './sub/deep/weights'
says './keep.key'
says 'model.sh is executable'
says_not './data/large'
says_not './secret.key'
says_not '.git/HEAD'

ok 'a folder that is not . is shown as it was given' det e create mnist/const.yaml mnist
says 'Preparing files (mnist) to send to master...'
ok 'the files come back' det e download-model-def 1 -o back
ok 'as they were' cmp mnist/sub/deep/weights back/sub/deep/weights
ok 'and no others' test ! -e back/secret.key
ok 'create without a folder sends none' sh -c 'printf "name: none\nentrypoint: echo alone\nsearcher: {name: single}\n" | det e create - -f'
says 'alone'
ln -s /etc/passwd mnist/outside
ok 'a link that leads out is left out' det e create mnist/const.yaml mnist
says "left out 'outside'"
for id in 2 4; do det e wait $id >/dev/null 2>&1; done
