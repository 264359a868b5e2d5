"""What the engines' SQL shares: expressions, operators and questions as sqlglot trees."""
