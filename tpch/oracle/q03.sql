-- [let joined]
SELECT
  l_orderkey, o_orderdate, o_shippriority, l_extendedprice * (1 - l_discount) AS volume,
  customer.row_id AS customer_1, orders.row_id AS orders_1, lineitem.row_id AS lineitem_1
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = 'BUILDING'
  AND o_orderdate < DATE '1995-03-15'
  AND l_shipdate > DATE '1995-03-15'

-- [let groups]
SELECT l_orderkey, sum(volume) AS revenue, o_orderdate, o_shippriority
FROM joined
GROUP BY l_orderkey, o_orderdate, o_shippriority

-- [output]
SELECT * FROM groups ORDER BY revenue DESC NULLS LAST, o_orderdate LIMIT 10

-- [pairs]
SELECT g.*, customer_1, orders_1, lineitem_1
FROM groups g JOIN joined j
  ON g.l_orderkey = j.l_orderkey
  AND g.o_orderdate = j.o_orderdate
  AND g.o_shippriority IS NOT DISTINCT FROM j.o_shippriority
