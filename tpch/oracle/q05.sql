-- [let joined]
SELECT
  n_name, l_extendedprice * (1 - l_discount) AS volume,
  customer.row_id AS customer_1, orders.row_id AS orders_1, lineitem.row_id AS lineitem_1,
  supplier.row_id AS supplier_1, nation.row_id AS nation_1, region.row_id AS region_1
FROM region
JOIN nation ON n_regionkey = r_regionkey
JOIN supplier ON s_nationkey = n_nationkey
JOIN customer ON c_nationkey = s_nationkey
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey AND l_suppkey = s_suppkey
WHERE r_name = 'ASIA' AND year(o_orderdate) = 1994

-- [output]
SELECT n_name, sum(volume) FROM joined GROUP BY n_name

-- [pairs]
SELECT output.*, customer_1, orders_1, lineitem_1, supplier_1, nation_1, region_1
FROM output JOIN joined ON output.n_name = joined.n_name
