-- [let joined]
SELECT
  l_shipmode, o_orderpriority, orders.row_id AS orders_1, lineitem.row_id AS lineitem_1
FROM lineitem JOIN orders ON o_orderkey = l_orderkey
WHERE l_shipmode IN ('MAIL', 'SHIP')
  AND l_shipdate < l_commitdate
  AND l_commitdate < l_receiptdate
  AND year(l_receiptdate) = 1994

-- [output]
SELECT
  l_shipmode,
  count(*) FILTER (o_orderpriority IN ('1-URGENT', '2-HIGH')),
  count(*) FILTER (o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))
FROM joined
GROUP BY l_shipmode

-- [pairs]
SELECT output.*, orders_1, lineitem_1 FROM output JOIN joined USING (l_shipmode)
