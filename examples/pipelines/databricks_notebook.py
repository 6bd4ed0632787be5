# Databricks notebook source
# The cluster needs the package: %pip install vesica

# COMMAND ----------
import vesica

identity = vesica.Identity.from_pem(dbutils.secrets.get("psi", "identity"))  # noqa: F821
customers = spark.table("crm.customers").select("customer_id", "email").toPandas()  # noqa: F821

# COMMAND ----------
# The agreement and its ledger are in a volume, so that all runs share them.
run = vesica.intersect(
    customers,
    key="email",
    partner="/Volumes/main/psi/project/acme.agreement",
    identity=identity,
)
print(run.learned)

# COMMAND ----------
spark.createDataFrame(run.rows).write.mode("overwrite").saveAsTable("psi.acme_matches")  # noqa: F821
