-- [let joined]
SELECT
  p_type, l_extendedprice * (1 - l_discount) AS volume,
  lineitem.row_id AS lineitem_1, part.row_id AS part_1
FROM lineitem JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'

-- [let sums]
SELECT sum(volume) AS total, sum(if(starts_with(p_type, 'PROMO'), volume, 0)) AS promoted
FROM joined

-- [output]
SELECT ratio((promoted * 10000)::HUGEINT * 100, (total * 10000)::HUGEINT) FROM sums

-- [pairs]
SELECT output.*, lineitem_1, part_1 FROM output CROSS JOIN joined
