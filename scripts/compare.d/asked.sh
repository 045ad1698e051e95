#!/bin/sh
# A command under a lock that notes in the file $1 when it is asked to end, and ends with 9.
file=$1
echo "$$" >"$file.pid"
trap 'echo asked >>"$file"; exit 9' TERM
echo begun >"$file"
while [ -e "$file" ]; do
    sleep 0.05
done
