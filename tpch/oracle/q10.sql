-- [let joined]
SELECT
  c_custkey, c_name, c_acctbal, n_name, c_address, c_phone, c_comment,
  l_extendedprice * (1 - l_discount) AS volume,
  customer.row_id AS customer_1, orders.row_id AS orders_1, lineitem.row_id AS lineitem_1,
  nation.row_id AS nation_1
FROM customer
JOIN nation ON n_nationkey = c_nationkey
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01'
  AND l_returnflag = 'R'

-- [let groups]
SELECT
  c_custkey, c_name, sum(volume) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
FROM joined
GROUP BY c_custkey, c_name, c_acctbal, n_name, c_address, c_phone, c_comment

-- [output]
SELECT * FROM groups ORDER BY revenue DESC NULLS LAST LIMIT 20

-- [pairs]
SELECT g.*, customer_1, orders_1, lineitem_1, nation_1
FROM groups g JOIN joined j
  ON g.c_custkey = j.c_custkey
  AND g.n_name = j.n_name
  AND g.c_name IS NOT DISTINCT FROM j.c_name
  AND g.c_acctbal IS NOT DISTINCT FROM j.c_acctbal
  AND g.c_address IS NOT DISTINCT FROM j.c_address
  AND g.c_phone IS NOT DISTINCT FROM j.c_phone
  AND g.c_comment IS NOT DISTINCT FROM j.c_comment
