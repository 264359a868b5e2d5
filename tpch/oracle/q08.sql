-- [let joined]
SELECT
  year(o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume,
  n2.n_name AS seller,
  part.row_id AS part_1, supplier.row_id AS supplier_1, lineitem.row_id AS lineitem_1,
  orders.row_id AS orders_1, customer.row_id AS customer_1, n1.row_id AS nation_1,
  n2.row_id AS nation_2, region.row_id AS region_1
FROM part
JOIN lineitem ON l_partkey = p_partkey
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation n2 ON n2.n_nationkey = s_nationkey
JOIN orders ON o_orderkey = l_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN nation n1 ON n1.n_nationkey = c_nationkey
JOIN region ON r_regionkey = n1.n_regionkey
WHERE r_name = 'AMERICA'
  AND year(o_orderdate) IN (1995, 1996)
  AND p_type = 'ECONOMY ANODIZED STEEL'

-- [let shares]
SELECT o_year, sum(volume) AS total, sum(if(seller = 'BRAZIL', volume, 0)) AS share
FROM joined
GROUP BY o_year

-- [output]
SELECT o_year, ratio((share * 10000)::HUGEINT, (total * 10000)::HUGEINT) FROM shares

-- [pairs]
SELECT
  output.*, part_1, supplier_1, lineitem_1, orders_1, customer_1, nation_1, nation_2, region_1
FROM output JOIN joined USING (o_year)
