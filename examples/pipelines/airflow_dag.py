"""A nightly run, followed by a load of its result.

The worker needs the program `vesica` and the project directory. Airflow's BashOperator skips a task on given exit codes:
8 if a policy refuses the run, and 9 if too few keys are shared.
"""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

PROJECT = "/srv/psi"

with DAG(
    dag_id="vesica_acme",
    schedule="15 2 * * *",
    start_date=datetime(2027, 1, 1),
    catchup=False,
    max_active_runs=1,
) as dag:
    run = BashOperator(
        task_id="run",
        bash_command="vesica run acme --quiet",
        cwd=PROJECT,
        retries=3,
        retry_delay=timedelta(minutes=10),
        skip_on_exit_code=[8, 9],
    )
    load = BashOperator(
        task_id="load",
        bash_command="psql --command \"\\copy matches from 'acme.csv' csv header\"",
        cwd=PROJECT,
    )
    run >> load
