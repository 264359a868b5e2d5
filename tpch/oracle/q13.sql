-- [let linked]
SELECT c_custkey, o_orderkey, customer.row_id AS customer_1, asked.row_id AS orders_1
FROM customer LEFT JOIN (
  SELECT * FROM orders WHERE NOT regexp_matches(o_comment, 'special.*requests', 's')
) AS asked ON o_custkey = c_custkey

-- [let counted]
SELECT c_custkey, count(o_orderkey) AS c_count FROM linked GROUP BY c_custkey

-- [output]
SELECT c_count, count(*) FROM counted GROUP BY c_count

-- [pairs]
SELECT output.*, customer_1, orders_1
FROM output JOIN counted USING (c_count) JOIN linked USING (c_custkey)
