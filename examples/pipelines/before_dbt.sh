#!/bin/sh
# Updates the result of a job, and then builds the models that read it. The result is a source of the dbt project.
#
#   before_dbt.sh JOB [FLAGS OF dbt build]
set -u

job=$1
shift

vesica run "$job" --quiet
code=$?
case $code in
    0 | 7) exec "${DBT:-dbt}" build "$@" ;;
    # Too few keys are shared, so the models stay as they are.
    9) exit 0 ;;
    *) exit "$code" ;;
esac
