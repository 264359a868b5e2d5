"""The process and the Spark session around a call: found, changed for as long as it lasts."""
