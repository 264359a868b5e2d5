-- [let joined]
SELECT
  n_name, year(o_orderdate) AS o_year,
  l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount,
  part.row_id AS part_1, supplier.row_id AS supplier_1, lineitem.row_id AS lineitem_1,
  partsupp.row_id AS partsupp_1, orders.row_id AS orders_1, nation.row_id AS nation_1
FROM part
JOIN lineitem ON l_partkey = p_partkey
JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN orders ON o_orderkey = l_orderkey
WHERE contains(p_name, 'green')

-- [output]
SELECT n_name, o_year, sum(amount) FROM joined GROUP BY n_name, o_year

-- [pairs]
SELECT output.*, part_1, supplier_1, lineitem_1, partsupp_1, orders_1, nation_1
FROM output JOIN joined
  ON output.n_name = joined.n_name AND output.o_year IS NOT DISTINCT FROM joined.o_year
