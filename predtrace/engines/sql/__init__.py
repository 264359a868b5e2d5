"""The SQL that engines share: expressions, operators and questions as sqlglot trees."""
