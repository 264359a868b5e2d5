-- [let offered]
SELECT
  ps_partkey, ps_supplycost, s_acctbal, s_name, s_address, s_phone, s_comment, n_name,
  partsupp.row_id AS ps_row, supplier.row_id AS s_row, nation.row_id AS n_row,
  region.row_id AS r_row
FROM partsupp
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey AND r_name = 'EUROPE'

-- [let cheapest]
SELECT ps_partkey, min(ps_supplycost) AS cost FROM offered GROUP BY ps_partkey

-- [let joined]
SELECT part.*, offered.* EXCLUDE (ps_partkey)
FROM part
JOIN offered ON offered.ps_partkey = p_partkey
JOIN cheapest ON cheapest.ps_partkey = p_partkey AND cost = ps_supplycost
WHERE p_size = 15 AND p_type LIKE '%BRASS'

-- [output]
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM joined
ORDER BY s_acctbal DESC NULLS LAST, n_name NULLS FIRST, s_name NULLS FIRST, p_partkey
LIMIT 100

-- [pairs]
SELECT
  s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment,
  row_id AS part_1, s_row AS supplier_1, ps_row AS partsupp_1, n_row AS nation_1,
  r_row AS region_1
FROM joined

-- [pairs minimal] the offers of the part that have the least cost
SELECT
  j.s_acctbal, j.s_name, j.n_name, p_partkey, p_mfgr, j.s_address, j.s_phone, j.s_comment,
  o.ps_row AS partsupp_2, o.s_row AS supplier_2, o.n_row AS nation_2, o.r_row AS region_2
FROM joined j JOIN offered o ON o.ps_partkey = p_partkey AND o.ps_supplycost = j.ps_supplycost

-- [pairs whole] all offers of the part
SELECT
  j.s_acctbal, j.s_name, j.n_name, p_partkey, p_mfgr, j.s_address, j.s_phone, j.s_comment,
  o.ps_row AS partsupp_2, o.s_row AS supplier_2, o.n_row AS nation_2, o.r_row AS region_2
FROM joined j JOIN offered o ON o.ps_partkey = p_partkey
