#!/bin/sh
# Runs a job of vesica.toml in this directory, and tries again if the other side cannot be reached.
#
#   nightly.sh JOB
#
# Exits with the code of the last run. RETRY_AFTER is the time between two attempts, in seconds.
set -u

job=$1
retry_after=${RETRY_AFTER:-600}

# If the system has flock, a job runs only once at a time.
if command -v flock >/dev/null 2>&1 && [ -z "${NIGHTLY_LOCKED:-}" ]; then
    NIGHTLY_LOCKED=1 exec flock --nonblock --conflict-exit-code 75 ".$job.lock" "$0" "$job"
fi

tries=3
while :; do
    vesica run "$job" --quiet
    code=$?
    tries=$((tries - 1))
    if [ "$code" -ne 4 ] || [ "$tries" -eq 0 ]; then
        exit "$code"
    fi
    sleep "$retry_after"
done
