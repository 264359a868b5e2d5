-- [let large]
SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300

-- [let joined]
SELECT
  c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, l_quantity,
  customer.row_id AS customer_1, orders.row_id AS orders_1, lineitem.row_id AS lineitem_1
FROM large
JOIN orders ON o_orderkey = large.l_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN lineitem ON lineitem.l_orderkey = o_orderkey

-- [let groups]
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
FROM joined
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice

-- [output]
SELECT * FROM groups ORDER BY o_totalprice DESC NULLS LAST, o_orderdate NULLS FIRST LIMIT 100

-- [pairs] the lines of the subquery's group are those of the order, which are all joined
SELECT g.*, customer_1, orders_1, lineitem_1, lineitem_1 AS lineitem_2
FROM groups g JOIN joined j
  ON g.o_orderkey = j.o_orderkey
  AND g.c_custkey = j.c_custkey
  AND g.c_name IS NOT DISTINCT FROM j.c_name
  AND g.o_orderdate IS NOT DISTINCT FROM j.o_orderdate
  AND g.o_totalprice IS NOT DISTINCT FROM j.o_totalprice
