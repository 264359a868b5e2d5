-- [let german]
SELECT
  ps_partkey, ps_supplycost * ps_availqty AS cost,
  partsupp.row_id AS ps_row, supplier.row_id AS s_row, nation.row_id AS n_row
FROM partsupp
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = 'GERMANY'

-- [output]
SELECT ps_partkey, sum(cost)
FROM german
GROUP BY ps_partkey
HAVING sum(cost) > (SELECT sum(cost) * 0.0001 FROM german)

-- [pairs]
SELECT output.*, ps_row AS partsupp_1, s_row AS supplier_1, n_row AS nation_1
FROM output JOIN german ON output.ps_partkey IS NOT DISTINCT FROM german.ps_partkey

-- [pairs] every row of the total in the subquery
SELECT output.*, ps_row AS partsupp_2, s_row AS supplier_2, n_row AS nation_2
FROM output CROSS JOIN german
