-- [let wanted]
SELECT * FROM (VALUES
  ('Brand#12', ['SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'], 1, 11, 5),
  ('Brand#23', ['MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'], 10, 20, 10),
  ('Brand#34', ['LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'], 20, 30, 15)
) AS wanted (brand, containers, least, most, size)

-- [let joined]
SELECT
  l_extendedprice * (1 - l_discount) AS volume,
  lineitem.row_id AS lineitem_1, part.row_id AS part_1
FROM lineitem
JOIN part ON p_partkey = l_partkey
JOIN wanted
  ON p_brand = brand
  AND list_contains(containers, p_container)
  AND l_quantity BETWEEN least AND most
  AND p_size BETWEEN 1 AND size
WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'

-- [output]
SELECT sum(volume) FROM joined

-- [pairs]
SELECT output.*, lineitem_1, part_1 FROM output CROSS JOIN joined
