"""The process and the Spark session around a call: found, and changed for the call."""
