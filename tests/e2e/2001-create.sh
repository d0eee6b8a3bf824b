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
ok 'a program of a folder that is not sent is named' det e create mnist/const.yaml --paused
says "the entrypoint './model.sh' is in a folder, but no folder is sent"
ok 'create without a folder sends none' sh -c 'printf "name: none\nentrypoint: echo alone\nsearcher: {name: single}\n" | det e create - -f'
says 'alone'
mkfifo pipe
printf 'name: piped\nentrypoint: echo from a pipe\nsearcher: {name: single}\n' >pipe &
ok 'a pipe takes the place of the file, as in create <(command)' det e create pipe -f
says 'from a pipe'
ln -s /etc/passwd mnist/outside
ok 'a link that leads out is left out' det e create mnist/const.yaml mnist
says "left out 'outside'"
for id in 2 6; do det e wait $id >/dev/null 2>&1; done

# A metric that is usually better when larger, without a word about it.
folder goal <<'EOF'
#!/bin/sh
det report --steps 1 --validation val_accuracy=0.5
EOF
ok 'a metric whose goal is in doubt is accepted' create goal -f --config searcher.metric=val_accuracy
DOUBT="larger values of 'val_accuracy' are usually better, but smaller ones count as better here: set searcher.smaller_is_better to false"
same 'and pointed out at once and in the log' 2 "$(grep -cF "$DOUBT" "$OUT")"
ok 'in the log it is a warning' sh -c "det e logs $ID | grep -q 'warning: larger values of'"
ok 'one whose goal is named' create goal -f --config searcher.metric=val_accuracy --config searcher.smaller_is_better=true
says_not 'larger values of'
