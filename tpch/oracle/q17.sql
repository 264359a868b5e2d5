-- [let means]
SELECT l_partkey, mean_of_cents(sum(l_quantity), count(l_quantity)) AS mean
FROM lineitem
GROUP BY l_partkey

-- [let small]
SELECT
  p_partkey, l_extendedprice, lineitem.row_id AS lineitem_1, part.row_id AS part_1
FROM lineitem
JOIN part ON p_partkey = lineitem.l_partkey
JOIN means ON means.l_partkey = p_partkey
WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX' AND 5 * l_quantity < mean

-- [output]
SELECT ratio((sum(l_extendedprice) * 100)::HUGEINT, 700) FROM small

-- [pairs]
SELECT output.*, lineitem_1, part_1 FROM output CROSS JOIN small

-- [pairs] every line of the parts concerned: the average is over all of them
SELECT output.*, lineitem.row_id AS lineitem_2
FROM output CROSS JOIN small JOIN lineitem ON l_partkey = p_partkey
