-- [let sold]
SELECT l_suppkey, l_extendedprice * (1 - l_discount) AS volume, row_id
FROM lineitem
WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01'

-- [let revenue]
SELECT l_suppkey, sum(volume) AS total FROM sold GROUP BY l_suppkey

-- [let joined]
SELECT s_suppkey, s_name, s_address, s_phone, total, supplier.row_id AS supplier_1
FROM supplier JOIN revenue ON l_suppkey = s_suppkey
WHERE total = (SELECT max(total) FROM revenue)

-- [output]
SELECT s_suppkey, s_name, s_address, s_phone, total FROM joined

-- [pairs]
SELECT
  s_suppkey, s_name, s_address, s_phone, total, supplier_1, sold.row_id AS lineitem_1
FROM joined JOIN sold ON l_suppkey = s_suppkey

-- [pairs minimal] the sales of every supplier (known or not) that attains the greatest revenue
SELECT s_suppkey, s_name, s_address, s_phone, joined.total, sold.row_id AS lineitem_2
FROM joined
JOIN revenue best ON best.total = joined.total
JOIN sold ON sold.l_suppkey IS NOT DISTINCT FROM best.l_suppkey

-- [pairs whole] all sales
SELECT s_suppkey, s_name, s_address, s_phone, total, sold.row_id AS lineitem_2
FROM joined CROSS JOIN sold
