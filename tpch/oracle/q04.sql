-- [let late]
SELECT
  o_orderkey, o_orderpriority, orders.row_id AS orders_1, lineitem.row_id AS lineitem_1
FROM orders JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
  AND l_commitdate < l_receiptdate

-- [output]
SELECT o_orderpriority, count(DISTINCT orders_1) FROM late GROUP BY o_orderpriority

-- [pairs]
SELECT output.*, orders_1, lineitem_1
FROM output JOIN late ON output.o_orderpriority IS NOT DISTINCT FROM late.o_orderpriority
