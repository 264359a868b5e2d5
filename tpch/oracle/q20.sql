-- [let sold]
SELECT l_partkey, l_suppkey, l_quantity, row_id FROM lineitem WHERE year(l_shipdate) = 1994

-- [let demand]
SELECT l_partkey, l_suppkey, sum(l_quantity) AS quantity FROM sold GROUP BY l_partkey, l_suppkey

-- [let stocked]
SELECT
  ps_suppkey, partsupp.row_id AS partsupp_1, part.row_id AS part_1, sold.row_id AS lineitem_1
FROM partsupp
JOIN part ON p_partkey = ps_partkey AND starts_with(p_name, 'forest')
JOIN demand ON demand.l_partkey = ps_partkey AND demand.l_suppkey = ps_suppkey
  AND 2 * ps_availqty > quantity
JOIN sold ON sold.l_partkey = ps_partkey AND sold.l_suppkey = ps_suppkey

-- [let chosen]
SELECT s_suppkey, s_name, s_address, supplier.row_id AS supplier_1, nation.row_id AS nation_1
FROM supplier JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = 'CANADA' AND s_suppkey IN (SELECT ps_suppkey FROM stocked)

-- [output]
SELECT s_name, s_address FROM chosen

-- [pairs]
SELECT s_name, s_address, supplier_1, nation_1, partsupp_1, part_1, lineitem_1
FROM chosen JOIN stocked ON ps_suppkey = s_suppkey
