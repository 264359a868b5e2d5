-- [let joined]
SELECT
  p_brand, p_type, p_size, ps_suppkey, partsupp.row_id AS partsupp_1, part.row_id AS part_1
FROM partsupp JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> 'Brand#45'
  AND NOT starts_with(p_type, 'MEDIUM POLISHED')
  AND p_size IN (3, 9, 14, 19, 23, 36, 45, 49)
  AND ps_suppkey NOT IN (
    SELECT s_suppkey FROM supplier WHERE regexp_matches(s_comment, 'Customer.*Complaints', 's'))

-- [output]
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey)
FROM joined
GROUP BY p_brand, p_type, p_size

-- [pairs]
SELECT output.*, partsupp_1, part_1 FROM output JOIN joined USING (p_brand, p_type, p_size)

-- [none supplier_1] NOT IN
