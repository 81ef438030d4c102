#!/bin/bash
# What an import writes: written.sh SHEAF CSV BATCH-SIZE
# Prints the bytes handed to the kernel, those that it has written to the disk by then, and the file's length.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" import "$2" --into "$folder/t.sheaf" --batch-size "$3" --quiet
grep -E '^(wchar|write_bytes)' /proc/$$/io | tr '\n' ' '
stat -c %s "$folder/t.sheaf"
