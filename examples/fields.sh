#!/usr/bin/env bash
# The files of docs/guide/cli.md: model.nc, and an archive of small ones in runs. Needs ncgen and awk.
set -euo pipefail
field() { # name, period
    awk -v p="$2" 'BEGIN {
        print "netcdf t { dimensions: time = 6; y = 60; x = 80; variables: float temp(time, y, x); double lat(y, x);"
        print "lat:units = \"degrees_north\"; temp:units = \"K\"; data: temp ="
        for (i = 0; i < 28800; i++)
            printf "%.4f%s", 280 + 10 * sin(i % 80 / p) * cos(int(i / 80) / 30) + sin(i * i), i < 28799 ? "," : ";"
        print "lat ="
        for (i = 0; i < 4800; i++) printf "%.4f%s", -30 + int(i / 80) + i % 80 / 1000, i < 4799 ? "," : ";}"
    }' | ncgen -k nc4 -o "$1" -
}
mkdir -p runs/a runs/b
field model.nc 9
n=11
for file in runs/a/one.nc runs/b/two.nc runs/b/three.nc; do
    field $file $n
    n=$((n + 2))
done
