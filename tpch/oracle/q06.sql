-- [let chosen]
SELECT * FROM lineitem
WHERE year(l_shipdate) = 1994
  AND l_discount >= 0.05 AND l_discount <= 0.07
  AND l_quantity < 24

-- [output]
SELECT sum(l_extendedprice * l_discount) FROM chosen

-- [pairs]
SELECT output.*, chosen.row_id AS lineitem_1 FROM output CROSS JOIN chosen
