-- [let joined]
SELECT
  s_name, l1.l_orderkey, l1.l_suppkey,
  supplier.row_id AS supplier_1, l1.row_id AS lineitem_1, orders.row_id AS orders_1,
  nation.row_id AS nation_1
FROM nation
JOIN supplier ON s_nationkey = n_nationkey
JOIN lineitem l1 ON l1.l_suppkey = s_suppkey
JOIN orders ON o_orderkey = l1.l_orderkey
WHERE n_name = 'SAUDI ARABIA'
  AND o_orderstatus = 'F'
  AND l1.l_receiptdate > l1.l_commitdate
  AND EXISTS (
    FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
  AND NOT EXISTS (
    FROM lineitem l3
    WHERE l3.l_orderkey = l1.l_orderkey
      AND l3.l_suppkey <> l1.l_suppkey
      AND l3.l_receiptdate > l3.l_commitdate)

-- [let groups]
SELECT s_name, count(*) AS numwait FROM joined GROUP BY s_name

-- [output]
SELECT * FROM groups ORDER BY numwait DESC, s_name NULLS FIRST LIMIT 100

-- [pairs]
SELECT g.*, supplier_1, lineitem_1, orders_1, nation_1
FROM groups g JOIN joined j ON g.s_name IS NOT DISTINCT FROM j.s_name

-- [pairs] the other suppliers' lines of the order, which EXISTS found
SELECT g.*, l2.row_id AS lineitem_2
FROM groups g
JOIN joined j ON g.s_name IS NOT DISTINCT FROM j.s_name
JOIN lineitem l2 ON l2.l_orderkey = j.l_orderkey AND l2.l_suppkey <> j.l_suppkey

-- [none lineitem_3] NOT EXISTS
