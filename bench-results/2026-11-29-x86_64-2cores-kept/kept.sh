#!/bin/sh
# kept.sh SHEAF NIGHTS: one changed row a night in a table of 1,000, every version kept; prints nights and bytes
set -eu
sheaf=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
{
  echo id,a,b
  seq 1 1000 | sed 's/\(.*\)/\1,\1,text\1/'
} > a.csv
"$sheaf" import a.csv --into k.sheaf --key id --quiet
"$sheaf" keep k.sheaf --versions 1000 > keep.txt
for night in $(seq 1 "$2"); do
  printf 'id,a,b\n%s,99,changed%s\n' $((night % 1000 + 1)) "$night" > n.csv
  "$sheaf" import n.csv --into k.sheaf --table a --on-conflict update --quiet
  case $night in 50 | 100 | 200 | 400 | 700 | 1000 | 1500) echo "$night $(wc -c < k.sheaf)" ;; esac
done
"$sheaf" check k.sheaf --deep > check.txt
